/** Filters of a query, as text. */

/** Return a value as written after an operator. */
export function quoted(value: string): string {
	return /[\s()"]/.test(value) ? `"${value.replace(/"/g, '\\"')}"` : value;
}

/** Return a query from a filter and all the words that it narrows. */
export function narrowed(filter: string, query: string): string {
	const alternatives = /\bOR\b/.test(query.replace(/"(?:\\.|[^"\\])*("|$)/g, ""));
	return alternatives ? `${filter} (${query})` : `${filter} ${query}`;
}

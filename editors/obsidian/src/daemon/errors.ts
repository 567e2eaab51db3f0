/** The ways in which a request fails, as the user is told of them. */

/** The command that starts a daemon. */
export const START = "vaultseek start";

/** An error that the daemon answered with; `code` is one of those in docs/protocol.md. */
export class DaemonError extends Error {
	constructor(
		readonly code: string,
		message: string,
	) {
		super(message);
		this.name = "DaemonError";
	}
}

/** No daemon can be reached. */
export class NotConnected extends Error {
	constructor(message: string) {
		super(message);
		this.name = "NotConnected";
	}
}

/** A sentence for the user and, if one helps, the command to run. */
export interface Problem {
	text: string;
	command?: string;
}

/** Return what to tell the user of an error. */
export function problemOf(error: unknown): Problem {
	if (error instanceof NotConnected) {
		return { text: `${error.message} The search goes on by itself once one runs.`, command: START };
	}
	return { text: error instanceof Error ? error.message : String(error) };
}

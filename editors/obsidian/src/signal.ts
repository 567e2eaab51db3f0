/** A list of listeners. */
export class Signal<T> {
	private readonly listeners = new Set<(value: T) => unknown>();

	/** Call `listener` with each value; return a function that stops this. */
	on(listener: (value: T) => unknown): () => void {
		this.listeners.add(listener);
		return () => this.listeners.delete(listener);
	}

	/** Pass `value` to every listener. */
	fire(value: T): void {
		for (const listener of [...this.listeners]) {
			listener(value);
		}
	}

	/** Forget every listener. */
	clear(): void {
		this.listeners.clear();
	}
}

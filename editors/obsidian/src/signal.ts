/** A list of listeners. */
export class Signal<T> {
	private readonly listeners = new Set<(value: T) => unknown>();

	/** Call `listener` with each value; returns what ends that. */
	on(listener: (value: T) => unknown): () => void {
		this.listeners.add(listener);
		return () => this.listeners.delete(listener);
	}

	/** Hand `value` to every listener. */
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

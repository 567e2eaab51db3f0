/** Work of which only the latest counts: each call cancels the one before. */
export class Latest {
	private controller: AbortController | null = null;

	/** Return what `work` returns, or null if a later call or `stop` came first. Errors of such work are dropped. */
	async run<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T | null> {
		this.stop();
		const controller = new AbortController();
		this.controller = controller;
		try {
			const value = await work(controller.signal);
			return controller.signal.aborted ? null : value;
		} catch (error) {
			if (controller.signal.aborted) {
				return null;
			}
			throw error;
		}
	}

	/** Cancel what runs. */
	stop(): void {
		this.controller?.abort();
		this.controller = null;
	}
}

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

	/** Cancel the running work. */
	stop(): void {
		this.controller?.abort();
		this.controller = null;
	}
}

/** Lists of which only the latest counts; callers of an earlier one also get the latest. */
export class LatestList<T> {
	private readonly latest = new Latest();
	private newest: Promise<T[]> = Promise.resolve([]);

	/** Return the list that `work` returns, or the list of a later call; nothing if the latest fails. */
	ask(work: (signal: AbortSignal) => Promise<T[]>): Promise<T[]> {
		const answer: Promise<T[]> = this.latest.run(work).then(
			(list) => list ?? this.newest,
			() => [],
		);
		this.newest = answer;
		return answer;
	}

	/** Cancel the running work, which then returns an empty list. */
	stop(): void {
		this.latest.stop();
		this.newest = Promise.resolve([]);
	}
}

/** The connection to the daemon. It is reopened whenever it breaks; no process is ever started. */

import type { Socket } from "node:net";
import {
	CancellationTokenSource,
	createMessageConnection,
	type MessageConnection,
	ResponseError,
	SocketMessageReader,
	SocketMessageWriter,
} from "vscode-jsonrpc/node";
import { Signal } from "../signal";
import { openSocket } from "./address";
import { DaemonError, NotConnected, Unsuited } from "./errors";
import { checkHello } from "./hello";
import { type Answers, type Changed, type Method, type Progress, PROTOCOL_VERSION } from "./protocol";

/** Milliseconds before another attempt to connect: after the first failure, and the maximum. */
const RETRY = { first: 500, most: 5000 };

/** Milliseconds after which a daemon counts as not answering: for the first message, and for all others. */
const PATIENCE = { hello: 10_000, answer: 60_000 };

/** The state of the connection; `reason` explains why there is none, and `label` is its short form. */
export type Link = { connected: true; version: string } | { connected: false; reason: string; label?: string };

/** Requests to the daemon at an address that may change, and its notifications. */
export class Daemon {
	/** The state of the connection, sent whenever it changes. */
	readonly linked = new Signal<Link>();
	readonly progress = new Signal<Progress>();
	readonly changed = new Signal<Changed>();

	private link: Link = { connected: false, reason: "Not connected yet." };
	private connection: MessageConnection | null = null;
	/** The connection whose first message waits for its answer. */
	private greeted: MessageConnection | null = null;
	private attempt: Promise<MessageConnection> | null = null;
	private timer: number | null = null;
	private wait: number;
	private open = false;
	/** Number of the address in use; a connection to an earlier one is dropped. */
	private generation = 0;

	constructor(
		private readonly address: () => string,
		private readonly client: string,
		private readonly retry = RETRY,
		private readonly patience = PATIENCE,
	) {
		this.wait = retry.first;
	}

	get state(): Link {
		return this.link;
	}

	/** Connect, and keep connected until `stop`. */
	start(): void {
		this.open = true;
		this.connectQuietly();
	}

	/** Close the connection and forget all listeners. */
	stop(): void {
		this.open = false;
		this.disconnect("The plugin is off.");
		for (const signal of [this.linked, this.progress, this.changed]) {
			signal.clear();
		}
	}

	/** Reconnect, because the address changed. */
	restart(): void {
		this.disconnect("The daemon's address has changed.");
		this.wait = this.retry.first;
		this.connectQuietly();
	}

	/**
	 * Send a request and return its answer. Connects first if necessary. An aborted request is cancelled in the daemon.
	 * Throws DaemonError with the daemon's message, and NotConnected.
	 */
	async request<M extends Method>(method: M, params: object, signal?: AbortSignal): Promise<Answers[M]> {
		const connection = this.connection ?? (await this.connect());
		if (signal?.aborted) {
			throw new DaemonError("cancelled", "The request was cancelled before it was sent.");
		}
		try {
			return await inTime(this.patience.answer, send<M>(connection, method, params, signal));
		} catch (error) {
			if (error instanceof Unsuited) {
				this.lose(connection, error);
			}
			throw error;
		}
	}

	private connectQuietly(): void {
		this.connect().catch(() => undefined); // `linked` has reported the reason, and the timer tries again
	}

	private connect(): Promise<MessageConnection> {
		if (!this.open) {
			return Promise.reject(new NotConnected("The plugin is off."));
		}
		if (this.attempt === null) {
			const attempt = this.handshake().finally(() => {
				if (this.attempt === attempt) {
					this.attempt = null;
				}
			});
			this.attempt = attempt;
		}
		return this.attempt;
	}

	private async handshake(): Promise<MessageConnection> {
		const generation = this.generation;
		try {
			return await this.greet(generation);
		} catch (error) {
			const reason = error instanceof Error ? error.message : String(error);
			if (generation === this.generation) {
				this.setLink(unlinked(reason, error));
				this.connectLater();
			}
			throw error instanceof NotConnected ? error : new NotConnected(reason);
		}
	}

	private async greet(generation: number): Promise<MessageConnection> {
		const socket = await openSocket(this.address());
		const connection = this.listen(socket);
		const check = (): void => {
			if (generation !== this.generation) {
				throw new NotConnected("The daemon's address has changed.");
			}
		};
		try {
			check();
			this.greeted = connection;
			// The daemon knows the zone of its machine, so only another one is sent.
			const zone = process.env.TZ ? { time_zone: process.env.TZ } : {};
			const first = { protocol_version: PROTOCOL_VERSION, client: this.client, ...zone };
			const hello = await inTime(this.patience.hello, send(connection, "initialize", first));
			check();
			checkHello(hello);
			this.connection = connection;
			this.wait = this.retry.first;
			this.setLink({ connected: true, version: hello.server.version });
			return connection;
		} catch (error) {
			connection.dispose();
			throw error;
		} finally {
			if (this.greeted === connection) {
				this.greeted = null;
			}
		}
	}

	private listen(socket: Socket): MessageConnection {
		const connection = createMessageConnection(new SocketMessageReader(socket), new SocketMessageWriter(socket));
		connection.onNotification("index/progress", (params: Progress) => this.progress.fire(params));
		connection.onNotification("index/changed", (params: Changed) => this.changed.fire(params));
		connection.onClose(() => this.lose(connection));
		connection.onError(() => socket.destroy());
		connection.onDispose(() => socket.destroy());
		connection.listen();
		return connection;
	}

	private lose(connection: MessageConnection, why?: Unsuited): void {
		connection.dispose(); // this fails the requests that still wait
		if (this.connection === connection) {
			this.connection = null;
			this.setLink(why ? unlinked(why.message, why) : unlinked("The vaultseek daemon has stopped."));
			this.connectLater();
		}
	}

	private disconnect(reason: string): void {
		if (this.timer !== null) {
			window.clearTimeout(this.timer);
			this.timer = null;
		}
		this.generation += 1;
		this.attempt = null;
		const { connection, greeted } = this;
		this.connection = this.greeted = null;
		connection?.dispose();
		greeted?.dispose();
		this.setLink({ connected: false, reason });
	}

	private connectLater(): void {
		if (!this.open || this.timer !== null) {
			return;
		}
		this.timer = window.setTimeout(() => {
			this.timer = null;
			this.connectQuietly();
		}, this.wait);
		this.wait = Math.min(this.wait * 2, this.retry.most);
	}

	private setLink(link: Link): void {
		const before = this.link;
		this.link = link;
		if (JSON.stringify(before) !== JSON.stringify(link)) {
			this.linked.fire(link);
		}
	}
}

function unlinked(reason: string, error?: unknown): Link {
	return { connected: false, reason, ...(error instanceof Unsuited ? { label: error.label } : {}) };
}

/** Wait for an answer, up to a limit, because a suspended daemon keeps its socket open. Throws Unsuited. */
async function inTime<T>(milliseconds: number, answer: Promise<T>): Promise<T> {
	let timer = 0;
	const late = new Promise<never>((_, reject) => {
		const error = new Unsuited("The vaultseek daemon does not answer.", "No answer");
		timer = window.setTimeout(() => reject(error), milliseconds);
	});
	try {
		return await Promise.race([answer, late]);
	} finally {
		window.clearTimeout(timer);
	}
}

async function send<M extends Method>(
	connection: MessageConnection,
	method: M,
	params: object,
	signal?: AbortSignal,
): Promise<Answers[M]> {
	const cancel = new CancellationTokenSource();
	const abort = (): void => cancel.cancel();
	signal?.addEventListener("abort", abort);
	try {
		return await connection.sendRequest<Answers[M]>(method, params, cancel.token);
	} catch (error) {
		throw explained(error);
	} finally {
		signal?.removeEventListener("abort", abort);
		cancel.dispose();
	}
}

function explained(error: unknown): Error {
	if (error instanceof ResponseError) {
		const code = (error.data as { code?: string } | null | undefined)?.code;
		if (code) {
			return new DaemonError(code, error.message);
		}
	}
	return new NotConnected("The vaultseek daemon has stopped.");
}

/** The ways in which a request can fail, as shown to the user. */

/** The command that starts a daemon. */
export const START = "vaultseek start";
/** The commands that restart it. */
export const RESTART = "vaultseek stop; vaultseek start";

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
	/** The command that helps. */
	readonly command: string = START;
	/** A few words for the status bar. */
	readonly label: string = "No daemon";

	constructor(message: string) {
		super(message);
		this.name = "NotConnected";
	}
}

/** A daemon or another program whose answers this plugin cannot use. */
export class Unsuited extends NotConnected {
	override readonly command = RESTART;

	constructor(
		message: string,
		override readonly label: string,
	) {
		super(message);
		this.name = "Unsuited";
	}
}

/** The daemon does not know the vault that is open here; `command` adds it. */
export class UnknownVault extends Error {
	constructor(
		message: string,
		readonly command?: string,
	) {
		super(message);
		this.name = "UnknownVault";
	}
}

/** A sentence for the user and, if there is one, the command that helps. */
export interface Problem {
	text: string;
	command?: string;
}

/** Return the message for the user about an error. */
export function problemOf(error: unknown): Problem {
	if (error instanceof NotConnected) {
		const then = error instanceof Unsuited ? "once this is fixed" : "once a daemon is running";
		return { text: `${error.message} The search continues by itself ${then}.`, command: error.command };
	}
	if (error instanceof UnknownVault) {
		return { text: error.message, command: error.command };
	}
	return { text: error instanceof Error ? error.message : String(error) };
}

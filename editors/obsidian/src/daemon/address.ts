/** The daemon's socket: where it is, and connecting to it. */

import { type Stats, statSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { Platform } from "obsidian";
import { NotConnected } from "./errors";

/** Longest path of a socket in bytes; the system would cut a longer one. */
const PATH_BYTES = 103;

/** Return the path of the socket: the one in the settings, else where the daemon puts it. */
export function socketPath(setting: string, environment: NodeJS.ProcessEnv = process.env): string {
	const written = setting.trim();
	if (written) {
		return written.replace(/^~(?=\/)/, homedir());
	}
	const runtime = environment.XDG_RUNTIME_DIR;
	if (runtime && isFolder(runtime)) {
		return join(runtime, "vaultseek", "daemon.sock");
	}
	return join(stateFolder(environment), "run", "daemon.sock");
}

/** Return what is wrong with a path of a socket in the settings, or nothing. The daemon may make it later. */
export function wrongSocket(setting: string): string | undefined {
	const written = setting.trim();
	const path = socketPath(written);
	if (written && !isAbsolute(path)) {
		return "Write the whole path, from / or ~/ on.";
	}
	if (Buffer.byteLength(path) > PATH_BYTES) {
		return `This is longer than the ${PATH_BYTES} bytes that the path of a socket may have.`;
	}
	const there = statAt(path);
	return there && !there.isSocket() ? "This is no socket." : undefined;
}

/** Connect to the socket at `path`. Throws NotConnected. */
export async function openSocket(path: string): Promise<Socket> {
	if (Buffer.byteLength(path) > PATH_BYTES) {
		throw new NotConnected(`The path of the socket is too long for this system: ${path}.`);
	}
	refuseForeign(path);
	const socket = connect(path);
	await new Promise<void>((resolve, reject) => {
		socket.once("connect", resolve);
		socket.once("error", (error: NodeJS.ErrnoException) => reject(refusal(error, path)));
	});
	return socket;
}

function stateFolder(environment: NodeJS.ProcessEnv): string {
	const state = environment.XDG_STATE_HOME;
	if (state && isAbsolute(state)) {
		return join(state, "vaultseek");
	}
	const home = homedir();
	return Platform.isMacOS
		? join(home, "Library", "Application Support", "vaultseek")
		: join(home, ".local", "state", "vaultseek");
}

function isFolder(path: string): boolean {
	return statAt(path)?.isDirectory() ?? false;
}

/** Return what is at `path`; undefined if nothing is, or if it cannot be reached. */
function statAt(path: string): Stats | undefined {
	try {
		return statSync(path, { throwIfNoEntry: false });
	} catch {
		return undefined; // a part of the path is a file, or closed to this user
	}
}

/** Throw NotConnected if the socket is missing, or belongs to someone else: queries are private. */
function refuseForeign(path: string): void {
	const owner = statAt(path)?.uid;
	if (owner === undefined) {
		throw new NotConnected("No vaultseek daemon is running.");
	}
	if (process.getuid && owner !== process.getuid()) {
		throw new NotConnected(`The socket ${path} belongs to another user; nothing was sent.`);
	}
}

function refusal(error: NodeJS.ErrnoException, path: string): NotConnected {
	if (error.code === "ECONNREFUSED" || error.code === "ENOENT") {
		return new NotConnected("No vaultseek daemon is running.");
	}
	return new NotConnected(`The socket ${path} cannot be used: ${error.message}.`);
}

/** The daemon's socket: its path, and connecting to it. */

import { closeSync, constants, openSync, type Stats, statSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join } from "node:path";
import { Platform } from "obsidian";
import { NotConnected } from "./errors";

/** Maximum length in bytes of a socket's path in an address; the system would cut a longer one. */
const PATH_BYTES = 103;
const DESCRIPTORS = "/proc/self/fd";

/**
 * Return the path of the socket: the one in the settings, or else the daemon's default.
 *
 * A Flatpak or a snap of Obsidian has an XDG_DATA_HOME of its own, where no daemon is; the home folder is the user's.
 */
export function socketPath(setting: string, environment: NodeJS.ProcessEnv = process.env): string {
	const written = setting.trim();
	if (written) {
		return written.replace(/^~(?=\/)/, homedir());
	}
	const data = environment.XDG_DATA_HOME;
	const folders = [...(data && isAbsolute(data) ? [data] : []), homeData()];
	const places = folders.map((folder) => join(folder, "vaultseek", "run", "daemon.sock"));
	return places.find((place) => statAt(place)?.isSocket()) ?? places[0]!;
}

/** Return the problem of a socket path in the settings, if any. The daemon may create the socket later. */
export function wrongSocket(setting: string): string | undefined {
	const written = setting.trim();
	const path = socketPath(written);
	if (written && !isAbsolute(path)) {
		return "Enter the full path, starting with / or ~/.";
	}
	if (isTooLong(path)) {
		return `A socket path may have at most ${PATH_BYTES} bytes.`;
	}
	const there = statAt(path);
	return there && !there.isSocket() ? "This is not a socket." : undefined;
}

/** Connect to the socket at `path`. Throws NotConnected. */
export async function openSocket(path: string): Promise<Socket> {
	if (isTooLong(path)) {
		throw new NotConnected(`The socket's path is too long for this system: ${path}.`);
	}
	refuseForeign(path);
	const folder = isLong(path) ? openSync(dirname(path), constants.O_DIRECTORY) : undefined;
	try {
		const socket = connect(folder === undefined ? path : `${DESCRIPTORS}/${folder}/${basename(path)}`);
		await new Promise<void>((resolve, reject) => {
			socket.once("connect", resolve);
			socket.once("error", (error: NodeJS.ErrnoException) => reject(refusal(error, path)));
		});
		return socket;
	} finally {
		if (folder !== undefined) {
			closeSync(folder);
		}
	}
}

function isLong(path: string): boolean {
	return Buffer.byteLength(path) > PATH_BYTES;
}

/** True unless the system offers a way around the limit, as Linux does. */
function isTooLong(path: string): boolean {
	return isLong(path) && !statAt(DESCRIPTORS);
}

function homeData(): string {
	return Platform.isMacOS ? join(homedir(), "Library", "Application Support") : join(homedir(), ".local", "share");
}

/** Return the file at `path`; undefined if it is missing or cannot be reached. */
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
		throw new NotConnected(`The socket ${path} belongs to another user, so no request was sent.`);
	}
}

function refusal(error: NodeJS.ErrnoException, path: string): NotConnected {
	if (error.code === "ECONNREFUSED" || error.code === "ENOENT") {
		return new NotConnected("No vaultseek daemon is running.");
	}
	return new NotConnected(`The socket ${path} cannot be used: ${error.message}.`);
}

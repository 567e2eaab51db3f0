import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { openSocket, socketPath } from "../src/daemon/address";
import manifest from "../manifest.json";
import { Daemon, type Link } from "../src/daemon/daemon";
import { DaemonError, NotConnected, problemOf } from "../src/daemon/errors";
import { Latest } from "../src/latest";
import { stateOf } from "../src/status/state";
import { Home } from "./real-daemon";
import { eventually, load, sharedHome, texts, type } from "./world";

const RETRY = { first: 20, most: 50 };
const home = sharedHome();
const daemons: Daemon[] = [];

function daemonAt(address: string): { daemon: Daemon; links: Link[] } {
	const daemon = new Daemon(() => address, "test", RETRY);
	const links: Link[] = [];
	daemon.linked.on((link) => links.push(link));
	daemons.push(daemon);
	daemon.start();
	return { daemon, links };
}

afterEach(() => daemons.splice(0).forEach((daemon) => daemon.stop()));

describe("the connection", () => {
	it("asks the daemon, and tells its errors by their codes", async () => {
		const { daemon, links } = daemonAt(home.socket);
		const answer = await daemon.request("search", { cwd: home.vault, query: "float switch", limit: 1 });
		expect(answer.results[0]!.title).toBe("Float Switch Wiring");
		expect(links).toEqual([{ connected: true, version: manifest.version }]);
		const wrong = daemon.request("note/get", { cwd: home.vault, note: "../../etc/passwd" });
		await expect(wrong).rejects.toThrow(DaemonError);
		await expect(wrong).rejects.toMatchObject({ code: "bad_path" });
	});

	it("cancels a request that is not wanted any more", async () => {
		const { daemon } = daemonAt(home.socket);
		const search = (signal: AbortSignal): Promise<unknown> =>
			daemon.request("search", { cwd: home.vault, query: "float", wait: true }, signal);
		for (const when of ["before it is connected", "while the daemon works"]) {
			const control = new AbortController();
			const request = search(control.signal);
			control.abort();
			await expect(request, when).rejects.toMatchObject({ code: "cancelled" });
		}
	});

	it("returns the answer to the latest question alone", async () => {
		const { daemon } = daemonAt(home.socket);
		const latest = new Latest();
		const ask = (query: string): Promise<string | null> =>
			latest.run(async (signal) => (await daemon.request("search", { cwd: home.vault, query }, signal)).query);
		const answers = await Promise.all(["f", "fl", "flo", "float"].map(ask));
		expect(answers).toEqual([null, null, null, "float"]);
	});

	it("says which command starts a daemon", async () => {
		const { daemon, links } = daemonAt(join(home.folder, "nothing.sock"));
		const error = await daemon.request("index/status", {}).catch((each: unknown) => each);
		expect(error).toBeInstanceOf(NotConnected);
		expect(problemOf(error)).toEqual({
			text: "No vaultseek daemon is running. The search continues by itself once a daemon is running.",
			command: "vaultseek start",
		});
		expect(links).toEqual([{ connected: false, reason: "No vaultseek daemon is running." }]);
	});

	it.runIf(existsSync("/proc/self/fd"))("connects to a socket whose path is too long for an address", async () => {
		const far = join(home.folder, "far".repeat(40));
		await symlink(dirname(home.socket), far);
		(await openSocket(join(far, "daemon.sock"))).destroy();
		await expect(openSocket(`/${"x".repeat(120)}`)).rejects.toThrow("No vaultseek daemon is running.");
	});

	it("fails what waits, when the other side closes, and connects again", async () => {
		const folder = await mkdtemp(join(tmpdir(), "vs-"));
		const path = join(folder, "s");
		let connections = 0;
		const server: Server = createServer((socket) => {
			connections += 1;
			socket.on("error", () => undefined);
			socket.destroy();
		}).listen(path);
		const { daemon } = daemonAt(path);
		await expect(daemon.request("index/status", {})).rejects.toThrow(NotConnected);
		await eventually(() => connections > 2);
		daemon.stop();
		await expect(daemon.request("index/status", {})).rejects.toThrow("The plugin is off.");
		server.close();
		await rm(folder, { recursive: true });
	});

	it.each([
		["one of a newer protocol", { server: { name: "vaultseek", version: "9.0" }, protocol_version: 9 }, "Other version", "Update the plugin."],
		["one of an older protocol", { server: { name: "vaultseek", version: "0.0" }, protocol_version: 0 }, "Other version", "Update vaultseek"],
		[
			"one without a method",
			{ server: { name: "vaultseek", version: "0.0.9" }, protocol_version: 1, capabilities: { methods: ["search"] } },
			"Other version",
			"lacks search/why, note/get",
		],
		["something else", { capabilities: {} }, "No daemon", "is not a vaultseek daemon"],
		["one that answers nonsense", null, "No daemon", "is not a vaultseek daemon"],
		["one that never answers", undefined, "No answer", "does not answer"],
	])("says so of %s, and closes what it opened", async (_, hello, label, reason) => {
		const folder = await mkdtemp(join(tmpdir(), "vs-"));
		const path = join(folder, "s");
		const open = new Set<object>();
		const server = createServer((socket) => {
			open.add(socket);
			socket.on("close", () => open.delete(socket)).on("error", () => undefined);
			socket.once("data", () => {
				if (hello !== undefined) {
					const answer = JSON.stringify({ jsonrpc: "2.0", id: 0, result: hello });
					socket.write(`Content-Length: ${Buffer.byteLength(answer)}\r\n\r\n${answer}`);
				}
			});
		}).listen(path);
		const daemon = new Daemon(() => path, "test", { first: 60_000, most: 60_000 }, { hello: 50, answer: 50 });
		daemons.push(daemon);
		daemon.start();
		const error = await daemon.request("index/status", {}).catch((each: unknown) => each);
		expect(problemOf(error).text).toContain(reason);
		expect(problemOf(error).command).toBe("vaultseek stop; vaultseek start");
		expect(daemon.state).toMatchObject({ connected: false, label });
		expect(stateOf(daemon.state, null, null).label).toBe(label);
		await eventually(() => open.size === 0);
		server.close();
		await rm(folder, { recursive: true });
	});

	it("closes a connection whose first answer has not come when it is switched off", async () => {
		const folder = await mkdtemp(join(tmpdir(), "vs-"));
		const path = join(folder, "s");
		const open = new Set<object>();
		let asked = false;
		const server = createServer((socket) => {
			open.add(socket);
			socket.on("close", () => open.delete(socket)).on("error", () => undefined);
			socket.on("data", () => (asked = true));
		}).listen(path);
		const { daemon } = daemonAt(path);
		await eventually(() => asked);
		daemon.stop();
		await eventually(() => open.size === 0);
		server.close();
		await rm(folder, { recursive: true });
	});

	it("gives up a daemon that is connected and does not answer any more", async () => {
		const daemon = new Daemon(() => home.socket, "test", { first: 60_000, most: 60_000 }, { hello: 60_000, answer: 1 });
		daemons.push(daemon);
		daemon.start();
		await eventually(() => daemon.state.connected);
		const late = daemon.request("search", { cwd: home.vault, query: "float", wait: true });
		await expect(late).rejects.toThrow("does not answer");
		expect(daemon.state).toMatchObject({ connected: false, label: "No answer" });
	});

	it("finds the socket where the daemon puts it", () => {
		expect(socketPath(" /x/y.sock ")).toBe("/x/y.sock");
		expect(socketPath("", home.environment)).toBe(home.socket);
		expect(socketPath("", { XDG_DATA_HOME: "/data" })).toBe("/data/vaultseek/run/daemon.sock");
		expect(socketPath("", { XDG_RUNTIME_DIR: home.folder })).toBe(socketPath("", { XDG_DATA_HOME: "not/absolute" }));
	});

	it("finds the daemon of the user from a package that has a data folder of its own", async () => {
		const user = await mkdtemp(join(tmpdir(), "vh-"));
		const usual = join(user, ".local/share/vaultseek/run/daemon.sock");
		await mkdir(dirname(usual), { recursive: true });
		const server = createServer().listen(usual);
		vi.stubEnv("HOME", user);
		expect(socketPath("", { XDG_DATA_HOME: join(user, ".var/app/md.obsidian.Obsidian/data") })).toBe(usual);
		expect(socketPath("", home.environment)).toBe(home.socket);
		vi.unstubAllEnvs();
		server.close();
		await rm(user, { recursive: true });
	});
});

describe("a daemon that comes and goes", () => {
	let own: Home;

	beforeAll(async () => {
		own = new Home(await mkdtemp(join(tmpdir(), "vo-")));
		await own.furnish();
	});

	afterAll(async () => {
		await own.vaultseek("stop");
		await rm(own.folder, { recursive: true, force: true });
	});

	it("is found by an open window and by the status bar, without any action", async () => {
		const world = await load(own);
		const bar = (world.plugin as unknown as { statusBarItems__: HTMLElement[] }).statusBarItems__[0]!;
		const label = (): string => bar.querySelector(".vaultseek-status-label")!.textContent ?? "";
		expect(await eventually(label)).toBe("No daemon");
		world.plugin.openSearch();
		type("float switch wiring");
		await eventually(() => texts(".vaultseek-problem code")[0] === "vaultseek start");

		await own.vaultseek("start");
		await eventually(() => texts(".vaultseek-result-title")[0] === "Float Switch Wiring");
		await eventually(() => /^\d+ notes$/.test(label()));

		await own.vaultseek("stop");
		await eventually(() => label() === "No daemon");
		type("slimy visitors");
		await eventually(() => texts(".vaultseek-problem code")[0] === "vaultseek start");
		await own.vaultseek("start");
		await eventually(() => texts(".vaultseek-result-title")[0] === "Slimy Visitors");
		world.unload();
	});

	it("tells how far it is while it indexes", async () => {
		await own.vaultseek("start");
		const world = await load(own);
		const bar = (world.plugin as unknown as { statusBarItems__: HTMLElement[] }).statusBarItems__[0]!;
		const labels = new Set<string>();
		new MutationObserver(() => labels.add(bar.textContent ?? "")).observe(bar, { childList: true, subtree: true, characterData: true });
		const before = Number((await eventually(() => /^(\d+) notes$/.exec(bar.textContent ?? "")))[1]);
		await Promise.all(Array.from({ length: 300 }, (_, n) => own.write(`New ${n}.md`, `# New ${n}\n\n${"slow words ".repeat(300)}`)));
		await eventually(() => bar.textContent === `${before + 300} notes`);
		expect([...labels].filter((each) => /^Indexing \d+ of \d+/.test(each)).length).toBeGreaterThan(0);
		world.unload();
	});
});

/** The first answer of a daemon, which shows whether this plugin can use it. */

import { Unsuited } from "./errors";
import { type Hello, type Method, PROTOCOL_VERSION } from "./protocol";

/** The methods that the plugin needs. */
const NEEDED: readonly Method[] = [
	"search",
	"search/why",
	"note/get",
	"note/related",
	"links/unlinked",
	"graph/suggest",
	"complete",
	"index/status",
	"index/subscribe",
];

/** Throw Unsuited if the answer does not come from a vaultseek daemon, or its version does not fit this plugin. */
export function checkHello(hello: Partial<Hello> | null): asserts hello is Hello {
	const version = hello?.server?.version;
	if (hello?.server?.name !== "vaultseek" || typeof version !== "string") {
		throw new Unsuited("The program at the socket is not a vaultseek daemon. Check the path in the settings.", "No daemon");
	}
	const spoken = hello.protocol_version;
	if (spoken !== PROTOCOL_VERSION) {
		const older = typeof spoken === "number" && spoken < PROTOCOL_VERSION;
		throw new Unsuited(
			`The vaultseek daemon (${version}) speaks version ${spoken} of the protocol, but this plugin speaks version ${PROTOCOL_VERSION}. ` +
				(older ? "Update vaultseek, and restart the daemon." : "Update the plugin."),
			"Other version",
		);
	}
	const methods = hello.capabilities?.methods;
	const missing = Array.isArray(methods) ? NEEDED.filter((method) => !methods.includes(method)) : [];
	if (missing.length > 0) {
		throw new Unsuited(
			`The running vaultseek daemon (${version}) is older than this plugin: it lacks ${missing.join(", ")}. ` +
				"Update vaultseek, and restart the daemon.",
			"Other version",
		);
	}
}

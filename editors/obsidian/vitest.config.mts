import { defineConfig } from "vitest/config";

export default defineConfig({
	resolve: { alias: { obsidian: "obsidian-test-mocks/obsidian" } },
	test: {
		environment: "jsdom",
		include: ["tests/*.test.ts"],
		globalSetup: ["tests/real-daemon.ts"],
		setupFiles: ["obsidian-test-mocks/vitest-setup", "tests/obsidian.ts"],
		// One daemon serves all files, and two cores are few.
		fileParallelism: false,
		testTimeout: 240_000,
		hookTimeout: 120_000,
		server: { deps: { inline: ["obsidian-test-mocks"] } },
	},
});

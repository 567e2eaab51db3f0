import { defineConfig, globalIgnores } from "eslint/config";
import obsidianmd from "eslint-plugin-obsidianmd";

export default defineConfig([
	globalIgnores(["node_modules", "main.js", "tests", "e2e", "*.mjs", "*.mts", "package-lock.json"]),
	...obsidianmd.configs.recommended,
	{
		languageOptions: {
			parserOptions: { projectService: { allowDefaultProject: ["manifest.json"] }, extraFileExtensions: [".json"] },
		},
	},
]);

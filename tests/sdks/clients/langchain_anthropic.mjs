import { ChatAnthropic } from "@langchain/anthropic";
import { scenariosOf } from "./langchain.mjs";

const SETTINGS = { apiKey: "any", temperature: 0, maxTokens: 400, maxRetries: 0 };

export const scenarios = scenariosOf((base, model) => new ChatAnthropic({ ...SETTINGS, model, anthropicApiUrl: base }));

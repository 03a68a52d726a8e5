import { ChatOpenAI } from "@langchain/openai";
import { scenariosOf } from "./langchain.mjs";

const SETTINGS = { apiKey: "any", temperature: 0, maxTokens: 400, maxRetries: 0 };

export const scenarios = scenariosOf(
  (base, model) => new ChatOpenAI({ ...SETTINGS, model, configuration: { baseURL: `${base}/v1` } }),
);

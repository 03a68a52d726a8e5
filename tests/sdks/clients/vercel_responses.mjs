import { createOpenAI } from "@ai-sdk/openai";
import { scenariosOf } from "./vercel.mjs";

export const scenarios = scenariosOf((base, name) => createOpenAI({ baseURL: `${base}/v1`, apiKey: "any" }).responses(name));

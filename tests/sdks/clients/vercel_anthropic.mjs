import { createAnthropic } from "@ai-sdk/anthropic";
import { scenariosOf } from "./vercel.mjs";

export const scenarios = scenariosOf((base, name) => createAnthropic({ baseURL: `${base}/v1`, apiKey: "any" })(name));

import { createOpenAI } from "@ai-sdk/openai";
import { embedMany } from "ai";
import { TEXTS } from "./shared.mjs";
import { scenariosOf } from "./vercel.mjs";

const provider = (base) => createOpenAI({ baseURL: `${base}/v1`, apiKey: "any" });

export const scenarios = {
  ...scenariosOf((base, name) => provider(base).chat(name)),
  async embeddings(base) {
    return (await embedMany({ model: provider(base).embedding("e"), values: TEXTS, maxRetries: 0 })).embeddings;
  },
};

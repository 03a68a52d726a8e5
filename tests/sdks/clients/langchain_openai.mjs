import { ChatOpenAI, OpenAIEmbeddings } from "@langchain/openai";
import { scenariosOf } from "./langchain.mjs";
import { TEXTS } from "./shared.mjs";

const SETTINGS = { apiKey: "any", temperature: 0, maxTokens: 400, maxRetries: 0 };

const at = (base) => ({ configuration: { baseURL: `${base}/v1` } });

export const scenarios = {
  ...scenariosOf((base, model) => new ChatOpenAI({ ...SETTINGS, model, ...at(base) })),
  async embeddings(base) {
    return new OpenAIEmbeddings({ apiKey: "any", maxRetries: 0, model: "e", ...at(base) }).embedDocuments(TEXTS);
  },
};

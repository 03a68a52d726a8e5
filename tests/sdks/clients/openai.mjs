import OpenAI from "openai";
import { zodResponseFormat, zodTextFormat } from "openai/helpers/zod";
import { ANSWER, CUT, ENDLESS, HI, LOOK, TEXTS, WHERE_JSON, heard } from "./shared.mjs";

const TOOLS = [{ type: "function", function: { ...LOOK, parameters: WHERE_JSON } }];
const SETTINGS = { model: "m", temperature: 0, max_tokens: 400 };

const chats = (base) => new OpenAI({ baseURL: `${base}/v1`, apiKey: "any", maxRetries: 0 }).chat.completions;
const responses = (base) => new OpenAI({ baseURL: `${base}/v1`, apiKey: "any", maxRetries: 0 }).responses;

async function* deltas(stream) {
  for await (const chunk of stream) yield chunk.choices[0]?.delta?.content;
}

async function* outputs(stream) {
  for await (const event of stream) if (event.type === "response.output_text.delta") yield event.delta;
}

const called = (message) => message.tool_calls.map((call) => [call.function.name, JSON.parse(call.function.arguments)]);

export const scenarios = {
  async chat(base) {
    const answer = await chats(base).create({ ...SETTINGS, messages: HI });
    return { text: answer.choices[0].message.content, model: answer.model, used: answer.usage.total_tokens > 0 };
  },
  async stream(base) {
    return heard(deltas(await chats(base).create({ ...SETTINGS, messages: HI, stream: true })));
  },
  async tools(base) {
    const answer = await chats(base).create({ ...SETTINGS, messages: HI, tools: TOOLS });
    return { calls: called(answer.choices[0].message), finish: answer.choices[0].finish_reason };
  },
  async streamed_tools(base) {
    const answer = await chats(base).stream({ ...SETTINGS, messages: HI, tools: TOOLS }).finalChatCompletion();
    return { calls: called(answer.choices[0].message), finish: answer.choices[0].finish_reason };
  },
  async json(base) {
    const format = zodResponseFormat(ANSWER, "answer");
    return (await chats(base).parse({ ...SETTINGS, messages: HI, response_format: format })).choices[0].message.parsed;
  },
  async unknown_model(base) {
    await chats(base).create({ ...SETTINGS, model: "gpt-99", messages: HI });
  },
  async cut(base) {
    await heard(deltas(await chats(base).create({ ...SETTINGS, messages: CUT, stream: true })));
  },
  async abort(base) {
    const stream = await chats(base).create({ ...SETTINGS, messages: ENDLESS, stream: true });
    for await (const text of deltas(stream)) {
      if (text) {
        stream.controller.abort();
        return { began: true };
      }
    }
  },
  async response(base) {
    const answer = await responses(base).create({ model: "m", temperature: 0, max_output_tokens: 400, input: "hi" });
    return { text: answer.output_text, model: answer.model, status: answer.status };
  },
  async streamed_response(base) {
    const asked = { model: "m", temperature: 0, max_output_tokens: 400, input: "hi", stream: true };
    return heard(outputs(await responses(base).create(asked)));
  },
  async response_json(base) {
    const text = { format: zodTextFormat(ANSWER, "answer") };
    const asked = { model: "m", temperature: 0, max_output_tokens: 400, input: "hi", text };
    return (await responses(base).parse(asked)).output_parsed;
  },
  async embeddings(base) {
    const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: "any", maxRetries: 0 });
    const answer = await client.embeddings.create({ model: "e", input: TEXTS });
    return answer.data.map((item) => [...item.embedding]);
  },
  async models(base) {
    const found = [];
    for await (const model of new OpenAI({ baseURL: `${base}/v1`, apiKey: "any" }).models.list()) found.push(model.id);
    return found;
  },
};

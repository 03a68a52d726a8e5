import Anthropic from "@anthropic-ai/sdk";
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod";
import { CUT, ENDLESS, HI, LOOK, ANSWER, WHERE_JSON, heard } from "./shared.mjs";

const SETTINGS = { model: "m", temperature: 0, max_tokens: 400 };
const TOOLS = [{ ...LOOK, input_schema: WHERE_JSON }];

const client = (base) => new Anthropic({ baseURL: base, apiKey: "any", maxRetries: 0 });
const called = (message) => message.content.filter((block) => block.type === "tool_use").map((block) => [block.name, block.input]);
const said = (message) => message.content.filter((block) => block.type === "text").map((block) => block.text).join("");

async function* deltas(stream) {
  for await (const event of stream) if (event.type === "content_block_delta") yield event.delta.text;
}

export const scenarios = {
  async chat(base) {
    const answer = await client(base).messages.create({ ...SETTINGS, messages: HI });
    return { text: said(answer), model: answer.model, used: answer.usage.output_tokens > 0 };
  },
  async stream(base) {
    return heard(deltas(await client(base).messages.create({ ...SETTINGS, messages: HI, stream: true })));
  },
  async tools(base) {
    const answer = await client(base).messages.create({ ...SETTINGS, messages: HI, tools: TOOLS });
    return { calls: called(answer), finish: answer.stop_reason };
  },
  async streamed_tools(base) {
    const answer = await client(base).messages.stream({ ...SETTINGS, messages: HI, tools: TOOLS }).finalMessage();
    return { calls: called(answer), finish: answer.stop_reason };
  },
  async json(base) {
    const output_config = { format: zodOutputFormat(ANSWER) };
    return (await client(base).messages.parse({ ...SETTINGS, messages: HI, output_config })).parsed_output;
  },
  async unknown_model(base) {
    await client(base).messages.create({ ...SETTINGS, model: "claude-99", messages: HI });
  },
  async cut(base) {
    await heard(deltas(await client(base).messages.create({ ...SETTINGS, messages: CUT, stream: true })));
  },
  async abort(base) {
    const stream = client(base).messages.stream({ ...SETTINGS, messages: ENDLESS });
    for await (const text of deltas(stream)) {
      if (text) {
        stream.controller.abort();
        return { began: true };
      }
    }
  },
  async models(base) {
    const found = [];
    for await (const model of client(base).models.list({ limit: 1 })) found.push(model.id);
    return found;
  },
};

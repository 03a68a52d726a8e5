// Scenarios of Vercel's AI SDK with a model of one of its providers.
import { Output, generateText, stepCountIs, streamText, tool } from "ai";
import { CUT, ENDLESS, HI, LOOK, ANSWER, WHERE, heard } from "./shared.mjs";

const SETTINGS = { temperature: 0, maxOutputTokens: 400, maxRetries: 0, onError: () => {} };
const TOOLS = { look: tool({ description: LOOK.description, inputSchema: WHERE }) };

const called = (calls) => calls.map((call) => [call.toolName, call.input]);

async function* spoken(stream) {
  for await (const part of stream.fullStream) {
    if (part.type === "error") throw part.error;
    if (part.type === "text-delta") yield part.text;
  }
}

export const scenariosOf = (modelAt) => ({
  async chat(base) {
    const answer = await generateText({ ...SETTINGS, model: modelAt(base, "m"), messages: HI });
    return { text: answer.text, model: answer.response.modelId, used: answer.usage.totalTokens > 0 };
  },
  async stream(base) {
    return heard(spoken(streamText({ ...SETTINGS, model: modelAt(base, "m"), messages: HI })));
  },
  async tools(base) {
    const answer = await generateText({ ...SETTINGS, model: modelAt(base, "m"), messages: HI, tools: TOOLS });
    return { calls: called(answer.toolCalls), finish: answer.finishReason };
  },
  async streamed_tools(base) {
    const stream = streamText({ ...SETTINGS, model: modelAt(base, "m"), messages: HI, tools: TOOLS, stopWhen: stepCountIs(1) });
    return { calls: called(await stream.toolCalls), finish: await stream.finishReason };
  },
  async json(base) {
    const output = Output.object({ schema: ANSWER });
    return (await generateText({ ...SETTINGS, model: modelAt(base, "m"), messages: HI, output })).output;
  },
  async unknown_model(base) {
    await generateText({ ...SETTINGS, model: modelAt(base, "no-such-model"), messages: HI });
  },
  async cut(base) {
    await heard(spoken(streamText({ ...SETTINGS, model: modelAt(base, "m"), messages: CUT })));
  },
  async abort(base) {
    const leave = new AbortController();
    const stream = streamText({ ...SETTINGS, model: modelAt(base, "m"), messages: ENDLESS, abortSignal: leave.signal });
    for await (const text of spoken(stream)) {
      if (text) {
        leave.abort();
        return { began: true };
      }
    }
  },
});

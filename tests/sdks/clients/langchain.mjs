// Scenarios of LangChain with one of its chat models.
import { CUT, ENDLESS, HI, LOOK, ANSWER, WHERE_JSON, heard } from "./shared.mjs";

const TOOLS = [{ type: "function", function: { ...LOOK, parameters: WHERE_JSON } }];

const called = (message) => message.tool_calls.map((call) => [call.name, call.args]);

async function* spoken(stream) {
  for await (const chunk of stream) yield chunk.text;
}

export const scenariosOf = (modelAt) => ({
  async chat(base) {
    const answer = await modelAt(base, "m").invoke(HI);
    return { text: answer.text, used: answer.usage_metadata.total_tokens > 0 };
  },
  async stream(base) {
    return heard(spoken(await modelAt(base, "m").stream(HI)));
  },
  async tools(base) {
    return { calls: called(await modelAt(base, "m").bindTools(TOOLS).invoke(HI)) };
  },
  async streamed_tools(base) {
    let whole;
    for await (const chunk of await modelAt(base, "m").bindTools(TOOLS).stream(HI)) whole = whole?.concat(chunk) ?? chunk;
    return { calls: called(whole) };
  },
  async json(base) {
    return modelAt(base, "m").withStructuredOutput(ANSWER, { method: "jsonSchema", name: "answer" }).invoke(HI);
  },
  async unknown_model(base) {
    await modelAt(base, "no-such-model").invoke(HI);
  },
  async cut(base) {
    await heard(spoken(await modelAt(base, "m").stream(CUT)));
  },
  async abort(base) {
    const leave = new AbortController();
    for await (const text of spoken(await modelAt(base, "m").stream(ENDLESS, { signal: leave.signal }))) {
      if (text) {
        leave.abort();
        return { began: true };
      }
    }
  },
});

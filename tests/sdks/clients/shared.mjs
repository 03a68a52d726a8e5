// What every client asks.
import { z } from "zod";

export const HI = [{ role: "user", content: "hi" }];
export const ENDLESS = [{ role: "user", content: "endless" }];
export const CUT = [{ role: "user", content: "cut" }];
export const ANSWER = z.object({ sure: z.boolean() }); // some clients keep no more of a schema than types
export const WHERE = z.object({ at: z.string() });
export const TEXTS = ["a", "b"];
export const LOOK = { name: "look", description: "Look at a place." };
export const WHERE_JSON = { type: "object", properties: { at: { type: "string" } }, required: ["at"], additionalProperties: false };

// The text of a stream of texts, and in how many pieces it came.
export async function heard(texts) {
  let text = "";
  let pieces = 0;
  for await (const piece of texts) {
    if (piece) {
      text += piece;
      pieces += 1;
    }
  }
  return { text, pieces };
}

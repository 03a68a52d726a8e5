// node run.mjs CLIENT '{"WORLD": {"base": URL, "scenarios": [NAME, ...]}}': what the client saw, as JSON of the same shape.
const [, , name, asked] = process.argv;
const { scenarios } = await import(`./clients/${name}.mjs`);

function told(error) {
  const status = error.status ?? error.statusCode ?? error.cause?.status;
  return { raised: error.constructor.name, status, message: String(error.message).slice(0, 300) };
}

const seen = {};
for (const [world, { base, scenarios: wanted }] of Object.entries(JSON.parse(asked))) {
  seen[world] = {};
  for (const scenario of wanted) {
    try {
      seen[world][scenario] = await scenarios[scenario](base);
    } catch (error) {
      seen[world][scenario] = told(error);
    }
  }
}
console.log(JSON.stringify(seen));
// Whoever aborted is to be seen leaving while this process lives; it ends with its input.
process.stdin.resume().on("end", () => process.exit(0));

// Written by mayi install opencode. It asks mayi before every tool; mayi uninstall opencode removes it.
// Whatever goes wrong here ends in a refusal: a call that nobody decided must not run.
import { spawn } from "node:child_process"

const COMMAND = @COMMAND@
const DEADLINE_MS = 60_000
const MOST_BYTES = 1024 * 1024
const MOST_CALLS = 1000

/** Sends one message to mayi and gives its answer; throws when there is none. */
function ask(message) {
  return new Promise((resolve, reject) => {
    const [program, ...words] = COMMAND
    const hook = spawn(program, words, { stdio: ["pipe", "pipe", "ignore"], windowsHide: true })
    const parts = []
    let size = 0
    const fail = (why) => {
      clearTimeout(clock)
      hook.kill("SIGKILL")
      reject(new Error(`mayi gave no answer: ${why}`))
    }
    const clock = setTimeout(() => fail("it took too long"), DEADLINE_MS)
    hook.on("error", (error) => fail(error.message))
    hook.stdout.on("data", (part) => {
      size += part.length
      if (size > MOST_BYTES) fail("it said too much")
      else parts.push(part)
    })
    hook.on("close", (code) => {
      clearTimeout(clock)
      try {
        const answer = JSON.parse(Buffer.concat(parts).toString("utf8"))
        if (!["allow", "ask", "deny"].includes(answer?.verdict)) throw new Error("it has no verdict")
        resolve(answer)
      } catch (error) {
        reject(new Error(`mayi gave no answer: ${error.message} (exit code ${code})`))
      }
    })
    // A hook that ends early closes its input; its answer, or the lack of one, is what counts then.
    hook.stdin.on("error", () => {})
    hook.stdin.end(JSON.stringify(message))
  })
}

/** Makes the arguments what mayi wants them to be. opencode keeps the object, so it is changed and not replaced. */
function replace(args, input) {
  for (const name of Object.keys(args)) delete args[name]
  Object.assign(args, input)
}

/** Calls that may still be asked about, by their names. A question names its call and does not repeat it. */
const calls = new Map()

function remember(id, call) {
  if (!id) return
  calls.set(id, call)
  if (calls.size > MOST_CALLS) calls.delete(calls.keys().next().value)
}

export const Mayi = async ({ directory }) => ({
  "tool.execute.before": async (input, output) => {
    const answer = await ask({
      event: "before",
      session: input.sessionID,
      directory,
      tool: input.tool,
      input: output.args,
      callId: input.callID,
    })
    // There is no prompt at this place, so what needs one is refused.
    if (answer.verdict !== "allow") throw new Error(answer.reason || `mayi says ${answer.verdict}`)
    if (answer.input && typeof answer.input === "object") replace(output.args, answer.input)
    remember(input.callID, { tool: input.tool, input: output.args })
  },

  "tool.execute.after": async (input, output) => {
    calls.delete(input.callID)
    const told = {
      event: "after",
      session: input.sessionID,
      directory,
      tool: input.tool,
      input: input.args ?? {},
      callId: input.callID,
      response: output?.output,
    }
    // The call is over: there is nothing left to refuse.
    await ask(told).catch(() => {})
  },

  "permission.ask": async (input, output) => {
    const callId = input.callID ?? input.tool?.callID
    const named = { tool: input.permission ?? input.type, input: input.metadata ?? {} }
    const call = calls.get(callId) ?? named
    const answer = await ask({ event: "permission", session: input.sessionID, directory, ...call, callId }).catch(
      () => ({ verdict: "deny" }),
    )
    output.status = answer.verdict
  },
})

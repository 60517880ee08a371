// Rewind in opencode: calls Rewind's hooks, and keeps a copy of each conversation that they can read. Whatever
// goes wrong here, opencode goes on: an error that leaves a hook would end the person's prompt. The one
// exception is meant: Rewind's guard keeps a tool from running.
//
// The copy is a file of JSON lines, the session first, then its messages. It comes from opencode's own client,
// so that its database, which also holds credentials, is never opened. Seen with opencode 1.18.33.
import { spawn } from "node:child_process"
import { mkdir, realpath, rename, rm, writeFile } from "node:fs/promises"
import { homedir } from "node:os"
import { dirname, join, resolve } from "node:path"

const LONGEST = 200 // of a folder's name
const TOP = join(resolve(homedir(), process.env.REWIND_HOME || ".rewind"), "transcripts", "opencode")

// One hook of Rewind's: what it printed, and why it blocks, if it does.
const call = (command, payload, seconds) => new Promise((done) => {
  const child = spawn("/bin/sh", ["-c", command], {
    cwd: payload.cwd, stdio: ["pipe", "pipe", "pipe"], env: { ...process.env, OPENCODE_PID: String(process.pid) },
  })
  const said = { out: "", err: "" }
  const end = (code) => { clearTimeout(timer); done({ ...said, blocks: code === 2 }) }
  const timer = setTimeout(() => { child.kill(); end(0) }, seconds * 1000) // opencode itself would wait for ever
  child.stdout.on("data", (text) => { said.out += text })
  child.stderr.on("data", (text) => { said.err += text })
  child.stdin.on("error", () => {})
  child.on("error", () => end(0))
  child.on("close", end)
  child.stdin.end(JSON.stringify(payload))
})

// Of a message that a person wrote, what they wrote.
const typed = (parts) => parts.filter((part) => part.type === "text" && !part.synthetic && !part.ignored)
  .map((part) => part.text).join("\n")

const time = (info) => { try { return new Date(info.time.created).toISOString() } catch { return undefined } }

const lineOf = ({ info, parts }) => {
  const told = { ...info }
  // opencode writes the differences that a prompt has led to into the prompt, some time after the turn.
  if (told.role === "user") delete told.summary
  const type = parts.some((part) => part.type === "compaction") ? "compaction" : "message"
  return JSON.stringify({ type, timestamp: time(info), info: told, parts })
}

export const Rewind = async ({ client, directory }) => {
  const sessions = new Map() // id -> what is known of it, the parent's for a subagent
  const pending = new Set() // events are not waited for, `dispose` is

  // All work is swallowed when it fails, and waited for in the end.
  const safely = (work) => {
    const done = (async () => work())().catch(() => undefined)
    pending.add(done)
    return done.finally(() => pending.delete(done))
  }

  const known = async (id) => {
    if (!sessions.has(id)) {
      const info = (await client.session.get({ path: { id } })).data
      if (!info) throw new Error("no such session")
      const parent = info.parentID ? await known(info.parentID) : undefined
      sessions.set(id, parent ?? { id, path: "", begun: false, prompt: "", recorded: "", count: 0, mark: "", last: Promise.resolve() })
    }
    return sessions.get(id)
  }

  // What concerns one session happens in order: the end of a turn before the next prompt.
  const inTurn = (session, work) => {
    const done = session.last.then(work, work)
    session.last = done.catch(() => {})
    return done
  }

  const copy = async (session) => {
    const path = { id: session.id }
    const [got, listed] = await Promise.all([client.session.get({ path }), client.session.messages({ path })])
    if (!got.data || !Array.isArray(listed.data)) return
    const place = await realpath(got.data.directory).catch(() => got.data.directory)
    const target = join(TOP, place.replace(/[^A-Za-z0-9]/g, "-").slice(0, LONGEST), `${session.id}.jsonl`)
    const head = JSON.stringify({ type: "session", format: 1, timestamp: time(got.data), info: got.data })
    const draft = `${target}.${process.pid}.part`
    await mkdir(dirname(target), { recursive: true, mode: 0o700 })
    try {
      await writeFile(draft, [head, ...listed.data.map(lineOf), ""].join("\n"), { mode: 0o600 })
      await rename(draft, target)
    } finally {
      await rm(draft, { force: true })
    }
    Object.assign(session, { path: target, count: listed.data.length, mark: markOf(got.data) })
  }

  const markOf = (info) => JSON.stringify([info.title, info.revert?.messageID, info.revert?.partID])

  const tell = async (event, session, more = {}) => {
    const payload = {
      hook_event_name: event, session_id: session.id, transcript_path: session.path, cwd: directory,
      prompt_id: session.prompt, ...more,
    }
    let reason = ""
    for (const { matcher, hooks } of HOOKS[event] ?? []) {
      if (matcher && !matcher.split("|").includes(more.tool_name)) continue
      for (const { command, timeout } of hooks) {
        const { out, err, blocks } = await call(command, payload, timeout)
        if (blocks) reason ||= err.trim() || "Rewind blocks this."
        else safely(() => show(out, err))
      }
    }
    return reason
  }

  // What a person should know, on their screen.
  const show = async (out, err) => {
    const message = (out.trim() ? JSON.parse(out).systemMessage : "") || err.trim()
    if (message) await client.tui.showToast({ body: { message, variant: "warning" } })
  }

  const tool = (event) => async (input, output) => {
    const blocks = await safely(async () => {
      const session = await known(input.sessionID)
      return tell(event, session, {
        tool_name: input.tool, tool_input: input.args ?? output.args, tool_use_id: input.callID,
        ...(session.id === input.sessionID ? {} : { agent_id: input.sessionID }),
      })
    })
    if (blocks && event === "PreToolUse") throw new Error(blocks)
  }

  const rests = (id) => safely(async () => {
    const session = await known(id)
    if (session.id !== id || !session.begun) return
    await inTurn(session, async () => {
      await copy(session)
      await tell("Stop", session, { messages: session.count })
    })
  })

  // With the prompt in it, the copy tells the turns right even if this client is killed before the end of one.
  const recorded = (info) => safely(async () => {
    const session = sessions.get(info?.sessionID)
    if (info?.role !== "user" || session?.prompt !== info.id || session.recorded === info.id) return
    session.recorded = info.id
    await inTurn(session, () => copy(session))
  })

  const changed = (info) => safely(async () => {
    const session = sessions.get(info?.id)
    if (session?.id === info?.id && session.mark && session.mark !== markOf(info)) {
      await inTurn(session, () => copy(session))
    }
  })

  return {
    "chat.message": (input, { message, parts }) => safely(async () => {
      const session = await known(input.sessionID)
      const prompt = typed(parts)
      if (session.id !== input.sessionID || !prompt.trim()) return
      await inTurn(session, async () => {
        await copy(session) // what was said before: this message is not among it yet
        if (!session.begun) await tell("SessionStart", session, { source: session.count ? "resume" : "startup" })
        Object.assign(session, { begun: true, prompt: message.id })
        await tell("UserPromptSubmit", session, { prompt })
      })
    }),
    "tool.execute.before": tool("PreToolUse"),
    "tool.execute.after": tool("PostToolUse"),
    "shell.env": (input, output) => safely(async () => {
      const session = await known(input.sessionID)
      Object.assign(output.env, { REWIND_AGENT: "opencode", REWIND_SESSION_ID: session.id, REWIND_TRANSCRIPT_PATH: session.path })
    }),
    event: async ({ event }) => {
      if (event.type === "session.idle") await rests(event.properties?.sessionID)
      if (event.type === "session.updated") await changed(event.properties?.info)
      if (event.type === "message.updated") await recorded(event.properties?.info)
    },
    dispose: async () => {
      await Promise.all(pending)
      const open = new Set([...sessions.values()].filter((session) => session.begun))
      await Promise.all([...open].map((session) => safely(() => inTurn(session, () => tell("SessionEnd", session)))))
    },
  }
}

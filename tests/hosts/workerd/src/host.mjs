// A host of upstream's runtime, connectors and bindings: a Worker with a Durable Object for each case and side. A case comes
// by POST, with the side that it is for; each of its steps is one request to the object, so an object may be gone between two.
import { DurableObject } from "cloudflare:workers";
import { CodemodeRuntime } from "@cloudflare/codemode";
import { describe } from "../../../side_by_side/src/describe.mjs";
import { Journal } from "./journal.mjs";
import { runProgram } from "./programs.mjs";
import { runtimeSteps } from "./runtime_steps.mjs";

export { CodemodeRuntime };
export { Desks } from "./programs.mjs";
export { Service } from "./service.mjs";

const RESTART = "restart of the Durable Object";

/** Where upstream's runtime lives. */
export class Agent extends DurableObject {
  #journal = new Journal(this.ctx.id.toString());

  /**
   * One step of a case.
   *
   * @returns JSON: `value` or `threw`, described, and the `events` that the host saw since the step before
   */
  async step(side, step) {
    const outcome = {};
    try {
      outcome.value = describe(await this.#do(step.side ?? side, step));
    } catch (thrown) {
      outcome.threw = { name: thrown?.name, message: thrown?.message };
    }
    return JSON.stringify({ ...outcome, events: this.#journal.take() });
  }

  async #do(side, step) {
    if (step.do === "together") return await Promise.all(step.steps.map((one) => this.#do(side, one)));
    if (step.do === "wait") return await new Promise((resolve) => setTimeout(resolve, step.ms));
    const host = { side, ctx: this.ctx, env: this.env, journal: this.#journal };
    if (step.do === "program") return await runProgram(step, host);
    return await runtimeSteps[step.do](step, host);
  }

  /** The object and all that it held in memory is gone; its storage stays. */
  async restart() {
    this.ctx.abort(RESTART);
  }
}

/** The steps of a case. A step that starts an execution may give it a name, by which later ones mean it. */
async function runCase(agent, side, { steps }) {
  const runs = new Map();
  const outcomes = [];
  for (const step of steps) {
    if (step.do === "restart" || step.do === "cut") {
      await endObject(agent, side, step.do === "cut" ? { ...step, do: "execute" } : undefined);
      outcomes.push({});
      continue;
    }
    const outcome = JSON.parse(await agent().step(side, resolved(step, runs)));
    if (step.as !== undefined) runs.set(step.as, outcome.value?.executionId);
    outcomes.push(outcome);
  }
  return outcomes;
}

/** The object is gone; in the middle of a step if there is one, when the log of its execution has so many entries. */
async function endObject(agent, side, step) {
  const isIts = (error) => {
    if (error.message !== RESTART) throw error;
  };
  const running = step && agent().step(side, step).then(() => Promise.reject(new Error("the step had ended")), isIts);
  for (let log = []; step && log.length < step.entries; ) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    const { value } = JSON.parse(await agent().step(side, { do: "executions" }));
    log = value?.[0]?.log ?? [];
  }
  await agent().restart().catch(isIts);
  await running;
}

/** With the execution's id in the place of its name. */
function resolved(step, runs) {
  const made = { ...step };
  if (step.steps !== undefined) made.steps = step.steps.map((one) => resolved(one, runs));
  if (step.run !== undefined) made.run = runs.get(step.run) ?? step.run;
  return made;
}

export default {
  async fetch(request, env) {
    const { side, case: given } = await request.json();
    const id = env.AGENT.idFromName(`${side} ${given.id}`);
    // A stub of an object that went down stays broken: each step takes a new one.
    return Response.json(await runCase(() => env.AGENT.get(id), side, given));
  },
};

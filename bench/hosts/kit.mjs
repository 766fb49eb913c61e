// What every JavaScript host does for the benchmark, in Node and in workerd alike: runs the programs that it is told
// to, checks each answer, and takes the time inside the host. hosts/kit.py does the same for the Python host.

/** `$N` becomes a number that this process has not used before, so no text is seen twice. */
function numbered() {
  let serial = 0;
  return (program) => {
    const number = ++serial;
    return { text: program.replaceAll("$N", String(number)), number };
  };
}

const long = new Map();

/** A string of `length` times "x", the same object for every call. */
export function text(length) {
  if (!long.has(length)) long.set(length, "x".repeat(length));
  return long.get(length);
}

/** What the program must answer: see `Answer` in bench/workloads.py. */
function expected(answer, number) {
  if (answer.number_plus !== undefined) return number + answer.number_plus;
  if (answer.text_of !== undefined) return text(answer.text_of);
  return answer.exactly;
}

/** The tools of every peer. `hold` answers when `gate.released` is set. */
export function tools(gate, sleep) {
  return {
    echo: async (value) => value,
    length: async (value) => value.length,
    text: async (length) => text(length),
    pause: async (ms) => {
      await sleep(ms);
      return ms;
    },
    hold: async () => {
      gate.inside++;
      while (!gate.released) await sleep(10);
      return "released";
    },
  };
}

/**
 * The commands of the runner, as functions from the command's fields to its answer.
 *
 * @param execute runs one program and gives its result, or throws
 * @param now milliseconds. In workerd the clock stands still while code runs and moves when something arrives.
 */
export function commands({ execute, now, sleep, gate }) {
  const number = numbered();

  async function one({ program, answer }) {
    const { text: code, number: serial } = number(program);
    const value = await execute(code);
    const right = expected(answer, serial);
    if (value !== right) {
      throw new Error(`a program answered ${brief(value)} where ${brief(right)} is right: ${code.slice(0, 200)}`);
    }
  }

  return {
    async serial({ runs, seconds, pause_ms, ...what }) {
      let total = 0;
      let done = 0;
      const until = now() + seconds * 1000;
      while (done < runs && (done === 0 || now() < until)) {
        if (pause_ms > 0) await sleep(pause_ms);
        const start = now();
        await one(what);
        total += now() - start;
        done++;
      }
      return { runs: done, total_ms: total };
    },

    async burst({ runs, ...what }) {
      const start = now();
      await Promise.all(Array.from({ length: runs }, () => one(what)));
      return { runs, total_ms: now() - start };
    },

    async saturate({ at_once, runs, seconds, ...what }) {
      let started = 0;
      const start = now();
      const lane = async () => {
        while (started < runs && (now() - start < seconds * 1000 || started < at_once)) {
          started++;
          await one(what);
        }
      };
      await Promise.all(Array.from({ length: at_once }, lane));
      return { runs: started, total_ms: now() - start };
    },

    async arrivals({ due_ms, ...what }) {
      const origin = now();
      const latencies = await Promise.all(
        due_ms.map(async (due) => {
          await sleep(Math.max(0, origin + due - now()));
          await one(what);
          return now() - origin - due;
        }),
      );
      return { latencies_ms: latencies };
    },

    async hold({ runs, ...what }) {
      gate.inside = 0;
      gate.released = false;
      await Promise.all(Array.from({ length: runs }, () => one(what)));
      return { runs };
    },
  };
}

function brief(value) {
  const shown = JSON.stringify(value) ?? String(value);
  return shown.length > 100 ? `${shown.slice(0, 100)}… (${shown.length} characters)` : shown;
}

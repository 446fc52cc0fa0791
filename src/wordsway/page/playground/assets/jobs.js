/* Long work in small slices, so that the page answers at every moment. */

const SLICE = 7; // milliseconds of work between two chances to draw

/** A queue of named generators. A new job replaces one of the same name. */
export function jobQueue() {
  let queue = [];
  let running = false;
  const tick = () => {
    const until = performance.now() + SLICE;
    while (queue.length && performance.now() < until) {
      const job = queue[0];
      const step = job.work.next();
      if (step.done && queue[0] === job) {
        queue.shift();
        job.done(step.value);
      }
    }
    running = queue.length > 0;
    if (running) setTimeout(tick, 0);
  };
  return {
    add(name, work, done) {
      queue = queue.filter((job) => job.name !== name);
      queue.push({ name, work, done });
      if (!running) setTimeout(tick, 0);
      running = true;
    },
    clear() {
      queue = [];
    },
    has: (name) => queue.some((job) => job.name === name),
  };
}

/** A generator run to its end, at once. */
export function finish(work) {
  let step = work.next();
  while (!step.done) step = work.next();
  return step.value;
}

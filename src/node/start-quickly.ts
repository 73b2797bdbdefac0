import { setFlagsFromString } from 'node:v8';

/** Until then V8 does not look at all objects. That and Sparkplug would take a seventh of the CPU of a start. */
const startMs = 2000;

/**
 * Spares V8's work for programs that run for long, until the start is over. Sparkplug, the compiler of machine code
 * without optimization, stays off: its code takes memory and saves no CPU of an agent. The same command-line options
 * would slow Node's start. docs/decisions/2026-11-22-allocator-memory.md
 */
export function startQuickly(): void {
  // With other flags V8 compiles Node's modules anew. These are loaded with the first server and the first wait.
  for (const name of ['node:cluster', 'node:timers/promises']) process.getBuiltinModule(name);
  setFlagsFromString('--no-incremental-marking');
  setFlagsFromString('--no-sparkplug');
  setTimeout(() => {
    setFlagsFromString('--incremental-marking');
  }, startMs).unref();
}

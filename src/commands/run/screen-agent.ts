import { closeSync, writeSync } from 'node:fs';

/**
 * A `run` with a screen passes the log file to its agent in this environment variable. The agent writes a byte to
 * `readyFD` when its control socket answers.
 */
const screenAgentVariable = 'KUBELET_TS_SCREEN_LOG';
export const readyFD = 3;

/** bin/kubelet-ts sets it too, but the single executable cannot set it for itself. */
const mallocEnvironment = { MALLOC_MMAP_THRESHOLD_: '16384' };

/** The environment of the agent of a screen. */
export function screenAgentEnvironment(logFile: string, environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...mallocEnvironment, ...environment, [screenAgentVariable]: logFile };
}

/** Settings of an agent that was started by a screen. Undefined for any other agent. */
export interface ScreenAgent {
  logFile: string;
  reportReady: () => void;
}

/** Reads and removes the variable, so that no child inherits it. */
export function claimScreenAgent(environment: NodeJS.ProcessEnv): ScreenAgent | undefined {
  const logFile = environment[screenAgentVariable];
  // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- the name is a constant
  delete environment[screenAgentVariable];
  if (logFile === undefined) return undefined;
  return {
    logFile,
    reportReady: () => {
      try {
        writeSync(readyFD, '\n');
        closeSync(readyFD);
      } catch {
        // The process of the screen has exited.
      }
    },
  };
}

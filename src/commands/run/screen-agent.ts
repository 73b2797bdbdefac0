import { closeSync, writeSync } from 'node:fs';

/**
 * What a `run` with a screen says to the agent that it starts, by this variable of its environment: the log file. The agent
 * writes a byte to `readyFD` when its control socket answers.
 */
export const screenAgentVariable = 'KUBELET_TS_SCREEN_LOG';
export const readyFD = 3;

/** The agent of a screen, as that agent sees itself. Undefined in any other. */
export interface ScreenAgent {
  logFile: string;
  tellReady: () => void;
}

/** Reads and removes the variable, so that no child has it. */
export function takeScreenAgent(environment: NodeJS.ProcessEnv): ScreenAgent | undefined {
  const logFile = environment[screenAgentVariable];
  // eslint-disable-next-line @typescript-eslint/no-dynamic-delete -- the name is a constant
  delete environment[screenAgentVariable];
  if (logFile === undefined) return undefined;
  return {
    logFile,
    tellReady: () => {
      try {
        writeSync(readyFD, '\n');
        closeSync(readyFD);
      } catch {
        // Whoever wanted to know is gone.
      }
    },
  };
}

import type { Writable } from 'node:stream';
import type { PatientSocket } from '../../server/control/control-client.ts';

/** A socket for a command that needs the agent. Prints once to stderr that the command waits for a busy agent. */
export function patientSocket(socketPath: string, stderr: Writable): PatientSocket {
  let hasWarned = false;
  return {
    socketPath,
    onBusy: ({ pid }) => {
      if (!hasWarned) stderr.write(`warning: kubelet-ts (pid ${pid}) is busy; waiting for its answer\n`);
      hasWarned = true;
    },
  };
}

import { comparingCase, type ReplayedCase } from '../replay-case.ts';
import { inNoTable } from '../replay.ts';
import { type ServerFile, serverFile } from '../server/server-file.ts';
import { replayDevices } from './device-case.ts';
import { type PodResourcesCase, rebuiltRecording } from './pod-resources-case.ts';

interface PodResourcesFile {
  cases: PodResourcesCase[];
}

/** Answers of the socket for monitoring agents. */
export const podResourcesFile: ServerFile = serverFile<PodResourcesFile>(['setup.socket', 'cases'], ({ cases }) => ({
  // Scenarios of devices show the answers at one moment, too.
  cases: cases.map((one) => ({ ...replayed(one), isShownElsewhere: one.snapshots === undefined })),
}));

function replayed(recorded: PodResourcesCase): ReplayedCase {
  const { name } = recorded;
  const recording = rebuiltRecording(recorded);
  if (recording === undefined) {
    const reason = 'the answers alone do not say why a container has no devices while enough are free';
    return { name, run: () => Promise.resolve({ verdict: 'differs on purpose', reason }) };
  }
  return comparingCase(name, inNoTable(recorded), async () => {
    const { expected, actual } = await replayDevices(recording);
    return { expected: answersOf(expected), actual: answersOf(actual) };
  });
}

/** Without the calls that led to the answers, which were not recorded. */
function answersOf({ calls: _calls, created: _created, ...answers }: Record<string, unknown>): object {
  return answers;
}

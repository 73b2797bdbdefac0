import fc from 'fast-check';
import { expect, test } from 'vitest';
import { systemClock } from '../../../../src/clock.ts';
import { withTimeout } from '../../../../src/flow/with-timeout.ts';
import { isFileAtWork } from '../../../support/file-operations.ts';
import { propertyRuns, propertyTimeoutMs } from '../../../support/property-runs.ts';
import { anyChange, anyOperation, FileSourceModel } from './file-source-model.ts';
import { type Declared, ManifestFolder } from './manifest-folder.ts';
import { SourceRecorder } from '../source-recorder.ts';
import { whileTimePasses } from '../while-time-passes.ts';

/** As the model tells it. */
function shown({ pods, configObjects, problems }: Declared): FileSourceModel['expected'] {
  const wrong = problems.flatMap((problem) => {
    const [, file = '', message = ''] = /^(.+?): error (.+)$/.exec(problem) ?? [];
    if (file === '') return [];
    return [`${file} is ${message.includes('is declared by') ? 'refused something' : 'bad'}`];
  });
  return { pods: pods.sort(), configObjects: configObjects.sort(), wrong: [...new Set(wrong)].sort() };
}

/** Real time, on a machine that is busy. */
const maxWaitMs = 30_000;

async function untilIt(recorder: SourceRecorder, isSo: () => boolean): Promise<void> {
  const ended = recorder.ended.then((cause) => Promise.reject(new Error('The source ended', { cause })));
  ended.catch(() => undefined);
  while (!isSo()) await Promise.race([recorder.next(), ended]);
}

test(
  'whatever happens to manifests, the last good content of what is there is declared, through restarts too',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyOperation, { minLength: 5, maxLength: 40 }), async (operations) => {
        const folder = await ManifestFolder.make();
        const model = new FileSourceModel(folder.path);
        let source = folder.start();
        await folder.read(source);
        for (const operation of [...operations, { do: 'look' } as const]) {
          if (operation.do === 'look') model.look();
          else if (operation.do === 'restart') model.restart();
          else {
            await model.apply(operation);
            continue;
          }
          if (operation.do === 'restart') source = folder.start();
          expect(shown(await folder.read(source))).toEqual(model.expected);
        }
      }),
      propertyRuns(60),
    );
  },
  propertyTimeoutMs,
);

test(
  'a running source sees every change of manifests, wherever links lead',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyChange, { minLength: 3, maxLength: 15 }), async (changes) => {
        const folder = await ManifestFolder.make();
        const model = new FileSourceModel(folder.path);
        const recorder = new SourceRecorder(folder.start());
        try {
          for (const change of changes) {
            const before = JSON.stringify(model.expected);
            await model.apply(change);
            model.look();
            const expected = JSON.stringify(model.expected);
            if (expected === before) continue;
            const declared = (): string | undefined => {
              const update = recorder.updates.at(-1);
              return update && JSON.stringify(shown(folder.declared({ ...update, problems: [...recorder.problems] })));
            };
            const waiting = withTimeout(
              systemClock,
              maxWaitMs,
              untilIt(recorder, () => declared() === expected),
            );
            await whileTimePasses(folder.clock, waiting).catch((error: unknown) => {
              const { clock, warnings } = folder;
              const timers = `${clock.pending} timers, the next in ${clock.untilNextTimerMs} ms`;
              const state = { change, expected, declared: declared(), timers, isFileAtWork: isFileAtWork(), warnings };
              throw new Error(`The source does not tell of a change: ${JSON.stringify(state)}`, { cause: error });
            });
          }
        } finally {
          await recorder.stop();
        }
      }),
      // The first failure took long, and so would those that lead to the shortest one.
      { ...propertyRuns(25), endOnFailure: true },
    );
  },
  propertyTimeoutMs,
);

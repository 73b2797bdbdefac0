import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LocalStorageEviction } from '../../../src/engine/eviction/local-storage-eviction.ts';
import { makePod } from '../../builders/pods.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { withoutDescriptors } from '../../without-descriptors.ts';

test('a volume that cannot be measured is passed over, and measured in the next round', async () => {
  const volume = await temporaryFolder();
  await writeFile(join(volume, 'file'), Buffer.alloc(100_000, 1));
  const clock = new FakeClock();
  const said: string[] = [];
  let onSaid: () => void = () => undefined;
  const say = (text: string): void => {
    said.push(text);
    onSaid();
  };
  const round = async (): Promise<void> => {
    const ended = new Promise<void>((resolve) => {
      onSaid = resolve;
    });
    await clock.advance(10_000);
    await ended;
  };
  const stopping = new AbortController();
  const running = new LocalStorageEviction({
    pods: () => [makePod({ spec: { volumes: [{ name: 'cache', emptyDir: { sizeLimit: '64Ki' } }] } })],
    volumeManager: { emptyDirPath: () => volume },
    evict: (_pod, message) => {
      say(message);
    },
    clock,
    logger: {
      ...silentLogger,
      warn: (facts: object) => {
        say(String(Reflect.get(facts, 'err')));
      },
    },
  }).run(stopping.signal);
  await withoutDescriptors(round);
  await round();
  expect(said).toEqual([
    `EMFILE: too many open files, open '${volume}'`,
    'Usage of EmptyDir volume "cache" exceeds the limit "64Ki". ',
  ]);
  const reason = new Error('stop');
  stopping.abort(reason);
  await expect(running).rejects.toBe(reason);
});

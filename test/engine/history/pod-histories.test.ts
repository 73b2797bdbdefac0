import { expect, test } from 'vitest';
import { PodHistories } from '../../../src/engine/history/pod-histories.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { silentLogger } from '../../fakes/silent-logger.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

test('only whose history is not in use is looked for among the declared pods', async () => {
  const folder = await temporaryFolder();
  const asked: string[] = [];
  const histories = (): PodHistories =>
    new PodHistories({
      folder,
      secretsOf: () => [],
      isDeclared: ({ name }) => {
        asked.push(name);
        return true;
      },
      clock: new FakeClock(),
      logger: silentLogger,
    });
  const earlier = histories();
  earlier.containerCreated({ uid: '1', namespace: 'default', name: 'gone' }, 'main', 3);
  await earlier.close();
  const now = histories();
  for (const name of ['a', 'b', 'c']) now.containerCreated({ uid: name, namespace: 'default', name }, 'main', 1);
  await now.close();
  expect(asked).toEqual(['gone']);
});

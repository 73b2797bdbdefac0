import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { Agent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';

/** The library of faketime, which shows a program another time of day. containerd, written in Go, does not use it. */
const fakeTimeLibrary = async (): Promise<string> =>
  (await execa('faketime', ['-m', '-f', '+0', 'printenv', 'LD_PRELOAD'])).stdout;

const pod = (name: string) => makePod(name, { containers: [shell('app', serve)] });

test('an agent whose clock is 20 years behind says so once, and pods outlive each change of the clock', async () => {
  const offsetFile = join(await temporaryFolder(), 'offset');
  const setClock = async (offset: string): Promise<void> => {
    await writeFile(`${offsetFile}.new`, offset);
    await rename(`${offsetFile}.new`, offsetFile);
  };
  await setClock('-20y');
  const agent = await Agent.create({
    environment: {
      LD_PRELOAD: await fakeTimeLibrary(),
      FAKETIME_TIMESTAMP_FILE: offsetFile,
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
  });
  onTestFinished(() => agent.cleanUp());
  const since = Date.now();
  await agent.start();
  await agent.write('web.yaml', pod('web'));
  await agent.untilReady('web');
  const { id } = await agent.runningContainer('web');
  await setClock('+0');
  await agent.untilPod('web', ({ pod: { status } }) => Date.parse(status?.startTime ?? '') >= since - 1000);
  await setClock('-1h');
  await agent.untilPod('web', ({ pod: { status } }) => Date.parse(status?.startTime ?? '') < since - 3_500_000);

  for (const [name, offset] of Object.entries({ ahead: '+1h', behind: '-1h', right: '+0' })) {
    await setClock(offset);
    await agent.write(`${name}.yaml`, pod(name));
    await agent.untilReady(name);
    await agent.untilReady('web');
    expect((await agent.runningContainer('web')).id).toBe(id);
  }
  const ofClock = agent.logs.filter(({ msg }) => /clock/i.test(msg));
  expect(ofClock.map(({ msg }) => msg)).toEqual([
    'The clock is not set; until then, certificates count as not valid yet',
  ]);
});

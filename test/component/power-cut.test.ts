import { describe, expect, test } from 'vitest';
import type { RawPod } from '../../src/api/types.ts';
import type { CreateContainerRequest } from '../../src/cri/generated/cri.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { type Engine, World } from './world.ts';

const image = 'app:1';
const container = (name: string): NonNullable<RawPod['spec']>['containers'][number] => ({ name, image });
const pod = makeStaticPod('web', {
  spec: {
    restartPolicy: 'Never',
    initContainers: [{ ...container('side'), restartPolicy: 'Always' }, container('first'), container('second')],
    containers: [container('main')],
  },
});

/** A node whose power fails when the runtime is to create this container. It boots again. */
async function cutBefore(name: string, { forgets }: { forgets: boolean }): Promise<{ world: World; engine: Engine }> {
  const world = await World.make();
  world.runtime.addImage(image);
  for (const init of ['first', 'second']) world.runtime.script(init, { exitAfterMs: 1000 });
  world.runtime.script('main', { exitAfterMs: 1000 });
  const isMeant = ({ config }: CreateContainerRequest): boolean => config?.metadata?.name === name;
  const release = world.runtime.hang('createContainer', { when: isMeant });
  const engine = await boot(world);
  await world.until(() => world.runtime.requestsOf('createContainer').some(isMeant));
  engine.crash();
  world.runtime.reboot({ forgets });
  release();
  return { world, engine: await boot(world) };
}

async function boot(world: World): Promise<Engine> {
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  source.set(pod);
  return engine;
}

describe.each([false, true])('a pod with restartPolicy Never whose runtime loses it in a power cut: %s', (forgets) => {
  test.each(['side', 'first', 'second', 'main'])('starts again after one before %s was created', async (name) => {
    const { world, engine } = await cutBefore(name, { forgets });
    await world.until(() => engine.phase('web-edge1') === 'Succeeded');
    expect(engine.pod('web-edge1')?.pod.status?.containerStatuses?.[0]?.restartCount).toBe(0);
  });
});

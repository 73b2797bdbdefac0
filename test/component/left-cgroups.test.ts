import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeNodeConfig } from '../builders/node-config.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { World } from './world.ts';

test('a start removes the empty cgroups of pods that an earlier agent removed, and names those with processes', async () => {
  const world = await World.make();
  const node = makeNodeConfig(world.folder, { cgroupsPerQOS: true });
  const source = new ManualSource();
  const [web, db] = [makeStaticPod('web'), makeStaticPod('db')];
  source.set(web, db);
  const first = await world.boot({ sources: [source], node });
  await world.until(() => first.isReady('web-edge1') && first.isReady('db-edge1'));
  source.set();
  await world.until(async () => (await world.inventory()).length === 0);
  await world.pass(5000);
  await first.kill();

  // A runtime that finishes a call after its caller has gone makes them again.
  const cgroupOf = (uid: string): string => `kubepods/besteffort/pod${uid}`;
  const all = [web.metadata.uid, db.metadata.uid, 'of-another-agent'].map(cgroupOf);
  expect(all.filter((path) => existsSync(join(world.folder, 'cgroups', path)))).toEqual([]);
  for (const path of all) await world.cgroups.makeFolder(join(world.folder, 'cgroups', path));
  await world.cgroups.addProcess(cgroupOf(db.metadata.uid), 7);

  const warnings: unknown[] = [];
  const logger = { ...silentLogger, warn: (...words: unknown[]) => warnings.push(words), child: () => logger };
  await world.boot({ sources: [source], node, logger });
  await world.pass(25_000);
  expect(all.filter((path) => existsSync(join(world.folder, 'cgroups', path)))).toEqual(all.slice(1));
  expect(warnings).toContainEqual([
    { podUID: db.metadata.uid, cgroup: `/${cgroupOf(db.metadata.uid)}` },
    'Processes run in the cgroup of a pod that an earlier agent removed',
  ]);
  expect(world.cgroups.killed).toEqual([]);
});

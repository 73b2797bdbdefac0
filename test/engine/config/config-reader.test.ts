import { expect, onTestFinished, test } from 'vitest';
import { ConfigObjects } from '../../../src/engine/config/config-objects.ts';
import { ConfigReader } from '../../../src/engine/config/config-reader.ts';
import type { PodUpdate } from '../../../src/engine/config/pod-config.ts';
import type { PodSource } from '../../../src/engine/config/pod-source.ts';
import { makeStaticPod } from '../../builders/static-pod.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { ManualSource } from '../../fakes/manual-source.ts';

/** A reader of these sources, and what it told of pods since the last look: operation and names. */
function reading(...sources: PodSource[]): { reader: ConfigReader; news: () => string[] } {
  const updates: PodUpdate[] = [];
  const reader = new ConfigReader({
    sources,
    configObjects: new ConfigObjects(),
    clock: new FakeClock(),
    emit: () => undefined,
    onUpdate: (update) => {
      updates.push(update);
    },
    onConfigObjectsChanged: () => undefined,
  });
  const stopping = new AbortController();
  const ended = reader.run(stopping.signal);
  onTestFinished(async () => {
    stopping.abort();
    await ended;
  });
  const news = (): string[] =>
    updates.splice(0).map(({ op, pods }) => [op, ...pods.map(({ metadata }) => metadata.name)].join(' '));
  return { reader, news };
}

test('the list of one URL says nothing about the pods of another one', () => {
  const site = new ManualSource('http', 'https://box.example/site');
  const fleet = new ManualSource('http', 'https://box.example/fleet');
  const { reader, news } = reading(site, fleet);
  site.set(makeStaticPod('one'));
  fleet.set(makeStaticPod('two'));
  site.set(makeStaticPod('one'), makeStaticPod('three'));
  fleet.set();
  expect(news()).toEqual(['ADD one-edge1', 'ADD two-edge1', 'ADD three-edge1', 'REMOVE two-edge1']);
  expect(reader.snapshot()).toMatchObject([
    { where: 'https://box.example/site', pods: 2 },
    { where: 'https://box.example/fleet', pods: 0 },
  ]);
});

test('a URL that declares nothing at first says so, though another one was read before', () => {
  const [site, fleet] = [new ManualSource('http'), new ManualSource('http')];
  const { news } = reading(site, fleet);
  site.set();
  fleet.set();
  expect(news()).toEqual(['ADD', 'ADD']);
});

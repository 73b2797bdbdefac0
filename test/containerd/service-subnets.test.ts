import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseRoutes, parseSubnet, type Route } from '../../src/containerd/cni-subnet.ts';
import { openServiceSubnets } from '../../src/containerd/service-subnets.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { lineLogger } from '../fakes/line-logger.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const route = (subnet: string): Route => ({ device: 'eth1', ...parseSubnet(subnet) });

async function machine() {
  const folder = await temporaryFolder();
  const { logger, lines } = lineLogger();
  const open = async (name: string, more: Partial<Parameters<typeof openServiceSubnets>[0]> = {}) => {
    const rootDir = join(folder, name);
    await mkdir(join(rootDir, 'state'), { recursive: true });
    const reservationsDir = join(folder, 'claims');
    return openServiceSubnets({
      ...{
        rootDir,
        reservationsDir,
        choice: {},
        hasIPv6: false,
        routes: parseRoutes(''),
        clock: new FakeClock(),
        logger,
      },
      ...more,
    });
  };
  return { open, lines };
}

test('are free of routes and of those of other root-dirs, and stay', async () => {
  const { open, lines } = await machine();
  const routes = [route('10.223.4.0/24')];
  expect(await open('a')).toEqual(['10.223.0.0/22']);
  expect(await open('b', { routes })).toEqual(['10.223.8.0/22']);
  expect(await open('a', { routes: [route('0.0.0.0/0')] })).toEqual(['10.223.0.0/22']);
  expect(lines).toEqual([]);
});

test('stay with a warning if a later route overlaps them', async () => {
  const { open, lines } = await machine();
  await open('a');
  expect(await open('a', { routes: [route('10.223.2.0/24')] })).toEqual(['10.223.0.0/22']);
  expect(lines).toEqual([
    'warn The route 10.223.2.0/24 of eth1 overlaps the subnet of Services, 10.223.0.0/22: pods cannot reach that network {"hint":"Choose another subnet with --service-cidr."}',
  ]);
});

test('have a second family if pods do, and are those that the user chooses', async () => {
  const { open } = await machine();
  const subnets = await open('a', { hasIPv6: true });
  expect(subnets).toEqual(['10.223.0.0/22', expect.stringMatching(/^fd[0-9a-f]{2}(:[0-9a-f]{4}){2}::\/112$/)]);
  expect(await open('a')).toEqual(subnets);
  const choice = { ipv4: '10.60.0.0/22', ipv6: 'fd00:60::/112' };
  expect(await open('a', { choice })).toEqual(['10.60.0.0/22', 'fd00:60::/112']);
});

test('are a mistake of the user if none is free', async () => {
  const { open } = await machine();
  const routes = ['10.223.0.0/17', '10.223.128.0/17', '192.168.128.0/17'].map(route);
  await expect(open('a', { routes })).rejects.toMatchObject({
    message: 'every subnet for them overlaps a route of this machine',
    hint: 'Choose one with --service-cidr.',
  });
});

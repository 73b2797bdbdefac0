import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Agent, startAgent } from './agent.ts';
import { containerdReleases } from './containerd-releases.ts';
import { makePod, serve, shell } from './manifests.ts';
import { cache, repository } from './program.ts';

/** criu: include/fault-injection.h FI_NO_BREAKPOINTS */
const withoutBreakpoints = '130';

describe.each(containerdReleases().slice(-1))('with CRIU on containerd $release', ({ folder = '/usr/bin' }) => {
  let agent: Agent;

  beforeAll(async () => {
    const { stdout: criu } = await execa(join(repository, 'scripts/fetch-program'), ['criu', cache]);
    agent = await startAgent({
      environment: {
        PATH: [join(criu, 'usr/bin'), folder, process.env['PATH']].join(':'),
        // In some virtual machines CRIU waits for ever for a breakpoint.
        CRIU_FAULT: withoutBreakpoints,
      },
      manifests: { 'web.yaml': makePod('web', { containers: [shell('app', `answer=is-$((6 * 7)); ${serve}`)] }) },
    });
    await agent.untilReady('web');
  });
  afterAll(() => agent.cleanUp());

  test('checkpoint writes the memory of a container that runs on, for root alone', async () => {
    const container = await agent.runningContainer('web');
    const { code, stdout, stderr } = await agent.cli(['checkpoint', 'web']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const archive = stdout.trim();
    expect(archive).toMatch(`${agent.rootDir}/checkpoints/checkpoint-web-edge1_default-app-`);
    expect(((await stat(archive)).mode & 0o777).toString(8)).toBe('600');
    const names = (await execa('tar', ['-tf', archive])).stdout.split('\n');
    expect(names).toEqual(expect.arrayContaining(['config.dump', 'spec.dump', 'checkpoint/inventory.img']));
    // The text exists in the memory of the shell alone.
    const memory = await execa('tar', ['-xOf', archive, 'checkpoint/pages-1.img'], { encoding: 'latin1' });
    expect(memory.stdout).toContain('is-42');
    expect(await agent.runningContainer('web')).toEqual(container);
  });
});

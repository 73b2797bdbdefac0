import { expect, onTestFinished, test } from 'vitest';
import { AgentHealth } from '../../src/node/agent-health.ts';
import { freePorts } from '../e2e/free-ports.ts';
import { silentFaults } from '../fakes/silent-faults.ts';

/** The health of an agent with `/healthz` on a port, and a request to it. */
function make(healthzPort: number) {
  const options = { healthzPort, healthzBindAddress: '127.0.0.1' };
  const health = new AgentHealth({ options, faults: silentFaults() });
  onTestFinished(() => health.close());
  const get = async (): Promise<string> => {
    const response = await fetch(`http://127.0.0.1:${healthzPort}/healthz`, { headers: { connection: 'close' } });
    return `${response.status} ${await response.text()}`;
  };
  return { health, get };
}

const refused = { cause: { code: 'ECONNREFUSED' } };

test('serves the newest reason at every step of the start, though each step opens it', async () => {
  const [port = 0] = await freePorts(1);
  const { health, get } = make(port);
  const answers: string[] = [];
  const texts = ['waiting for the runtime: no socket', 'starting: loading a.tar', undefined];
  for (const text of texts) {
    health.because(() => text);
    await Promise.all([health.open(), health.open()]);
    answers.push(await get());
  }
  const failed = (text: string): string => `500 [+]ping ok\n[-]syncloop failed: ${text}\nhealthz check failed\n`;
  expect(answers).toEqual([failed(texts[0] ?? ''), failed(texts[1] ?? ''), '200 ok']);
  await health.close();
  await expect(get()).rejects.toMatchObject(refused);
});

test('a reason is asked for when it is needed', () => {
  const { health } = make(0);
  const reasons = ['no socket', undefined];
  health.because(() => reasons.shift());
  expect([health.unhealthyBecause(), health.unhealthyBecause()]).toEqual(['no socket', undefined]);
});

test('an agent is healthy before its first step', () => {
  expect(make(0).health.unhealthyBecause()).toBe(undefined);
});

test('the second of two agents with one port reports that, and exits without another failure', async () => {
  const [port = 0] = await freePorts(1);
  const [first, second] = [make(port), make(port)];
  await first.health.open();
  await expect(second.health.open()).rejects.toMatchObject({
    name: 'UserError',
    message: `healthz cannot listen on 127.0.0.1:${port}: the port is in use`,
  });
  await second.health.close();
  expect(await first.get()).toBe('200 ok');
});

test('port 0 turns it off', async () => {
  const { health, get } = make(0);
  await health.open();
  await expect(get()).rejects.toThrow();
});

import { comparingCase } from '../replay-case.ts';
import { inNoTable } from '../replay.ts';
import { exitOf, type StartCase } from '../start-case.ts';
import { RecordedAgent } from './recorded-agent.ts';
import type { ServerFile } from './server-file.ts';

/** Starts that the kubelet refused, with the last lines of its stderr. */
export const startErrorsFile: ServerFile = {
  holds: (content) => Array.isArray(content) && content.length > 0 && content.every(isRefusedStart),
  replay: (content) => ({
    cases: (content as StartCase[]).map((one) =>
      comparingCase(one.flags.join(' '), inNoTable(one), async () => ({
        expected: one.outcome,
        actual: await outcomeOf(one.flags),
      })),
    ),
  }),
};

function isRefusedStart(one: unknown): boolean {
  const { flags, outcome, stderr } = one as Partial<StartCase> & { stderr?: unknown };
  return Array.isArray(flags) && Array.isArray(stderr) && outcome?.startsWith('exit ') === true;
}

/** Starts an agent with all its servers. The texts of errors are our own. */
async function outcomeOf(flags: readonly string[]): Promise<string> {
  let agent: RecordedAgent | undefined;
  try {
    agent = await RecordedAgent.start({ flags, manifests: {} }, () => undefined);
    await agent.serve();
    return 'runs';
  } catch (error) {
    return exitOf(error);
  } finally {
    await agent?.end();
  }
}

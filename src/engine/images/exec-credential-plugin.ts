import { join } from 'node:path';
import type { CredentialProvider } from '../../api/kubelet-configuration/credential-provider-config.ts';
import type { Clock } from '../../clock.ts';
import { boundedOutput } from '../host/bounded-program.ts';

/** kubelet: credentialprovider/plugin/plugin.go ExecPlugin */
const timeoutMs = 60_000;
/** Far longer than any answer. */
const maxAnswerBytes = 1024 * 1024;

/**
 * Runs a credential provider with `input` on its standard input. Resolves with its standard output. If it cannot run,
 * fails, answers too much or takes a minute, it is killed with all its child processes, and this rejects. Its standard
 * error is dropped, because it may contain a secret.
 */
export async function execCredentialPlugin(
  { binDir, clock }: { binDir: string; clock: Clock },
  { name, args, env }: CredentialProvider,
  input: string,
): Promise<string> {
  const variables = Object.fromEntries(env.map((variable) => [variable.name, variable.value]));
  const output = await boundedOutput(join(binDir, name), args, {
    clock,
    timeoutMs,
    maxOutputBytes: maxAnswerBytes,
    tooLong: `its answer is longer than ${maxAnswerBytes} bytes`,
    env: variables,
    input,
  });
  return output.toString('utf8');
}

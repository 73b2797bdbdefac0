import type { GuardedProcess } from '../../tui/terminal-guard.ts';

interface SignalledAgent {
  readonly child: { kill(signal: NodeJS.Signals): unknown };
  signalled: boolean;
  readonly isTerminalLent: () => boolean;
}

/**
 * Passes SIGINT and SIGTERM on to the agent until the returned function is called. While a command has the terminal,
 * SIGINT comes from its keys and is for that command alone.
 */
export function forwardSignals(agent: SignalledAgent, guarded: GuardedProcess): () => void {
  const passOn = (signal: NodeJS.Signals): void => {
    agent.signalled = true;
    agent.child.kill(signal);
  };
  const onInterrupt = (): void => {
    if (!agent.isTerminalLent()) passOn('SIGINT');
  };
  const onTerminate = (): void => {
    passOn('SIGTERM');
  };
  guarded.on('SIGINT', onInterrupt);
  guarded.on('SIGTERM', onTerminate);
  return () => {
    guarded.off('SIGINT', onInterrupt);
    guarded.off('SIGTERM', onTerminate);
  };
}

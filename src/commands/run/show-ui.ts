import { systemClock } from '../../clock.ts';
import { UserError } from '../../errors.ts';
import { noAgent } from '../../server/control/no-agent.ts';
import { controlSocketPath } from '../../server/control/socket-paths.ts';
import { RemoteView } from '../../server/control/remote-view.ts';
import { runtimeFlags, screenCommands } from './run-commands.ts';
import type { Theme } from '../../tui/theme.ts';
import { canShowScreen, isInForeground } from './can-show-screen.ts';
import { chosenTheme } from './theme-option.ts';

interface UISettings {
  rootDir: string;
  containerRuntimeEndpoint?: string;
  readOnly?: boolean;
  theme?: Theme;
  /** True for plain lines in place of a screen. */
  lineMode?: boolean;
}

/**
 * Shows the screen of the agent on a root-dir until the user leaves. The agent and its pods keep running. If the agent
 * exits, the screen waits for the next one. Rejects with a `UserError` without an agent or a terminal.
 */
export async function showUI(settings: UISettings): Promise<void> {
  const { rootDir, containerRuntimeEndpoint, readOnly = false, theme = 'auto' } = settings;
  const { lineMode = process.env['TERM'] === 'dumb' } = settings;
  if (!lineMode && !(await canShowScreen())) {
    throw new UserError('the screen needs a terminal in its foreground', {
      hint: 'Without one, use kubelet-ts ui --line-mode or kubelet-ts ps -w. Over ssh, open one with ssh -t.',
    });
  }
  const socketPath = controlSocketPath(rootDir);
  const [view, { show }] = await Promise.all([
    openView(socketPath, rootDir),
    lineMode ? import('./line-mode.ts').then(({ showLines }) => ({ show: showLines })) : fullScreen(),
  ]);
  const { stdout, stdin } = process;
  const commands = screenCommands(runtimeFlags({ rootDir, runtimeEndpoint: containerRuntimeEndpoint }));
  try {
    await show({ view, stdout, stdin, commands, clock: systemClock, isReadOnly: readOnly, theme: chosenTheme(theme) });
  } finally {
    view.close();
  }
}

/** Loads the screen. Leaving it does not stop the agent. */
async function fullScreen() {
  const { runScreen } = await import('../../tui/screen.ts');
  type Settings = Omit<Parameters<typeof runScreen>[0], 'onLeave' | 'isAttached' | 'isInForeground'>;
  const options = { onLeave: () => undefined, isAttached: true, isInForeground };
  return { show: (settings: Settings) => runScreen({ ...settings, ...options }).exited };
}

async function openView(socketPath: string, rootDir: string): Promise<RemoteView> {
  const view = await RemoteView.open({ socketPath, clock: systemClock });
  if (view !== undefined) return view;
  throw noAgent(rootDir, { orElse: 'List the pods of the runtime: kubelet-ts ps' });
}

/** The dashboard begins here. */

import { mount } from 'svelte';
import './styles/tokens.css';
import './styles/base.css';
import './lib/theme.svelte';
import { live } from './api/live.svelte';
import App from './App.svelte';

live.connect();
addEventListener('online', () => live.hurry());
document.addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'visible') live.hurry();
});

const target = document.getElementById('app');
if (target) {
  target.replaceChildren();
  mount(App, { target });
}

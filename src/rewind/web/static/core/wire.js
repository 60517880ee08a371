// The one connection of this page.

import {Wire} from './api.js';

export const wire = new Wire();
